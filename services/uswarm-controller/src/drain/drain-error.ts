/** It cannot be done; the message says why. */
export class DrainError extends Error {
  override name = 'DrainError';
}
