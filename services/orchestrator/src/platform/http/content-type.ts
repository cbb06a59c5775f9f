import { ApiError } from '@uswarm/contract';

/** Names for UTF-8 and its subset ASCII, without punctuation: clients write `utf8`, `UTF_8` and others. */
const UTF8 = new Set(['utf8', 'usascii', 'ascii', 'unicode11utf8', 'xunicode20utf8']);
const OTHER_UNICODE: ReadonlyMap<string, string> = new Map(
  ['utf-16', 'utf-16le', 'utf-16be', 'utf-32', 'utf-32le', 'utf-32be'].map((name) => [name.replace('-', ''), name]),
);

/**
 * Normalizes a JSON body's `Content-Type` for the body parser, which accepts only registered charset names. A parameter
 * that cannot be read is ignored: JSON is UTF-8, and its media type defines no parameters (RFC 8259).
 *
 * @throws ApiError `unsupported_media_type`
 */
export function jsonContentType(header: string | undefined): string {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  if (type.toLowerCase() !== 'application/json') throw new ApiError('unsupported_media_type');
  const charset = parameters.map((parameter) => /^charset\s*=\s*(.*)$/i.exec(parameter)?.[1] ?? '').find(Boolean) ?? '';
  const name = charset.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (name === '' || UTF8.has(name)) return 'application/json';
  const unicode = OTHER_UNICODE.get(name);
  if (unicode !== undefined) return `application/json; charset=${unicode}`;
  throw new ApiError('unsupported_media_type', { message: 'The body must be encoded in UTF-8.' });
}
