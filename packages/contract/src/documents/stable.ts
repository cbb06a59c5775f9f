/** The same entries in the order of their keys, so that documents do not depend on who is visited first. */
export function sortedByKey<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A document's text on disk. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
