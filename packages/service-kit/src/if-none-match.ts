const ETAGS = /(?:W\/)?"[^"]*"/g;
const opaque = (etag: string): string => etag.replace(/^W\//, '');

/**
 * Whether `If-None-Match` is `*` or lists this ETag, by weak comparison (RFC 9110 §13.1.2). `request.fresh` of express also reads
 * `Cache-Control: no-cache` of the request, which forbids a cache to answer, not this service.
 */
export function isCurrent(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || (ifNoneMatch.match(ETAGS) ?? []).some((tag) => opaque(tag) === opaque(etag));
}
