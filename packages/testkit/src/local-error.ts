import type { MissingPart } from './missing-part.js';

/**
 * Something about this machine stands in the way: a port in use, a missing library, a data folder
 * of another version. The message is one sentence for the person at the terminal that says what
 * to do; whoever catches it prints that sentence alone and exits with 1.
 */
export class LocalError extends Error {
  override name = 'LocalError';
}

/** A part that this machine can only run after something was installed. */
export class MissingPartError extends LocalError {
  override name = 'MissingPartError';
  readonly missing: MissingPart;

  constructor(missing: MissingPart) {
    super(`${missing.reason} ${missing.install}`);
    this.missing = missing;
  }
}
