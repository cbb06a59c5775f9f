/**
 * Whether a `Prefer` header asks for an answer without a body (RFC 7240): `return=minimal`, among others or
 * alone. Of a preference that stands there twice the first one counts; what is not understood is ignored.
 */
export function prefersMinimal(header: string | undefined): boolean {
  const preferences = (header ?? '').split(',').map((preference) => preference.split(';')[0] ?? '');
  const wanted = preferences.map((preference) => /^\s*return\s*=\s*"?([\w-]+)"?\s*$/i.exec(preference)?.[1]);
  return wanted.find((value) => value !== undefined)?.toLowerCase() === 'minimal';
}
