/** Sorts entries by key, so that documents do not depend on the order of generation. */
export function sortedByKey<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The text of a document file. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
