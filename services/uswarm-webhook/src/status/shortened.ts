/**
 * At most `maxLength` UTF-16 units; a cut text ends with an ellipsis. A character is never cut in two: the API server would store
 * another text, which would differ from the rendered one on each reconcile.
 */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
