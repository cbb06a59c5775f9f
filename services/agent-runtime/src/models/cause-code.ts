/** Codes from Node.js, undici and OpenSSL, such as ECONNREFUSED. Provider codes are in lower case. */
const SYSTEM_CODE = /^[A-Z][A-Z\d_]{2,63}$/;
const MAX_DEPTH = 8;

/** The innermost system code among an error's causes. It tells a TLS error from a refused connection. */
export function causeCode(error: unknown): string | undefined {
  let found: string | undefined;
  let each = error;
  for (let depth = 0; depth < MAX_DEPTH && each instanceof Error; depth += 1) {
    const { code } = each as { code?: unknown };
    if (typeof code === 'string' && SYSTEM_CODE.test(code)) found = code;
    each = each.cause;
  }
  return found;
}
