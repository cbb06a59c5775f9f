const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Whether a text can be an id of ours at all: what cannot names nothing. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
