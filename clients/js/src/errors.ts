/** Errors of the client, all of which are `RepriseError`s. */

export class RepriseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
