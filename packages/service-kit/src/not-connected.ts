/** Errors from connections that were never established, also with TLS and proxies. */
const NOT_CONNECTED =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|UND_ERR_PRX_TLS|UND_ERR_INVALID_ARG|PROXY_.*|EPROTO|ERR_(?:TLS|SSL)_.*|CERT_.*|.*_CERT(?:_.*|IFICATE)?|UNABLE_TO_.*)$/;

/**
 * True if a request failed before its connection was established, so that it was not sent. Checks the causes of its
 * error too.
 */
export const isNotConnected = (error: unknown): boolean => codesOf(error).some((code) => NOT_CONNECTED.test(code));

/** Error codes: its own, those in its causes and, after attempts at several addresses, in their errors. */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const parts = Array.isArray(errors) ? errors.flatMap(codesOf) : [];
  return [...(typeof code === 'string' ? [code] : []), ...parts, ...codesOf(cause)];
}
