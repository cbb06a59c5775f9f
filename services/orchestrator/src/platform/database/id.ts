const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** True if `text` is a UUID in lower case, the form of all ids. Other texts would make a query fail. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
