const FAILURES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  UND_ERR_SOCKET: 'connection closed before the response was complete',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'no such host',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  Z_DATA_ERROR: 'malformed data',
  Z_BUF_ERROR: 'malformed data',
};

export const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** Tells why a request failed. The error itself can contain what a language model must not see. */
export const networkFailure = (error: unknown): string => FAILURES[codeOf(error)] ?? 'the request failed';
