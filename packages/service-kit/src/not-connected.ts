/** Errors of connections that were never established, also of TLS and of proxies. */
const NOT_CONNECTED =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|UND_ERR_PRX_TLS|UND_ERR_INVALID_ARG|PROXY_.*|EPROTO|ERR_(?:TLS|SSL)_.*|CERT_.*|.*_CERT(?:_.*|IFICATE)?|UNABLE_TO_.*)$/;

/** Whether a request failed before its connection was established, so that it was not sent: also by the causes of its error. */
export const isNotConnected = (error: unknown): boolean => codesOf(error).some((code) => NOT_CONNECTED.test(code));

/** Codes of an error, of its causes and, after attempts at several addresses, of their errors. */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const parts = Array.isArray(errors) ? errors.flatMap(codesOf) : [];
  return [...(typeof code === 'string' ? [code] : []), ...parts, ...codesOf(cause)];
}
