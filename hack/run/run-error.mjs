/** An error whose message is sufficient for the user; no stack trace is printed. */
export class RunError extends Error {
  name = 'RunError';
}
