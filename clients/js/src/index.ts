/** The JavaScript client of Reprise. */

export { RepriseError } from "./errors.js";
