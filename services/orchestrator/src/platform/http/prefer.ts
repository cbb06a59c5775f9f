/**
 * True if a `Prefer` header (RFC 7240) has the preference `return=minimal`, which asks for a response without a body.
 * The first `return` preference applies; unknown ones are ignored.
 */
export function prefersMinimal(header: string | undefined): boolean {
  const preferences = (header ?? '').split(',').map((preference) => preference.split(';')[0] ?? '');
  const wanted = preferences.map((preference) => /^\s*return\s*=\s*"?([\w-]+)"?\s*$/i.exec(preference)?.[1]);
  return wanted.find((value) => value !== undefined)?.toLowerCase() === 'minimal';
}
