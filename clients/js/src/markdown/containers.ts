/** Containers of blocks, quotes and lists, and what a line must begin with to belong to one. */

import type { Cursor } from "./cursor.js";
import { itemMark, type ThematicBreaks } from "./starts.js";

export interface Quote {
  readonly type: "quote";
}

/** A list's item; what belongs to it is indented by so many columns. */
export interface Item {
  readonly type: "item";
  indent: number;
}

interface List {
  readonly type: "list";
  readonly mark: string;
  tight: boolean;
}

export type Container = Quote | Item | List;

/** Skips the container's marker or indentation; returns whether the line has it. A list itself has none. */
export function continues(container: Container, cursor: Cursor): boolean {
  switch (container.type) {
    case "quote":
      cursor.skip(3);
      return cursor.skipQuoteMark();
    case "item":
      return cursor.skip(container.indent) === container.indent || cursor.atEnd;
    case "list":
      return true;
  }
}

/**
 * Skips the mark of an item that is indented by so many columns, and the blanks after the mark.
 *
 * Returns the mark's character, and by how much the item's further lines are indented.
 */
export function itemAt(cursor: Cursor, indent: number, breaks: ThematicBreaks): { mark: string; indent: number } | null {
  const mark = itemMark(cursor.line, cursor.at);
  if (!mark || breaks.areAt(cursor.at)) return null;
  cursor.at += mark.length;
  cursor.skip(1);
  const restore = cursor.save();
  let blanks = cursor.atBlanksAlone ? 4 : cursor.skip(4);
  if (blanks === 4) {
    restore();
    blanks = 0;
  }
  return { mark: mark.slice(-1), indent: indent + mark.length + 1 + blanks };
}
