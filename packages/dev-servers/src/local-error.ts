import type { MissingPart } from './missing-part.js';

/**
 * A problem of this machine: a port in use, a missing library, a data folder of another version. The message is one
 * sentence with the solution. Programs print it without a stack trace and exit with 1.
 */
export class LocalError extends Error {
  override name = 'LocalError';
}

/** A part that needs a program that is not installed. */
export class MissingPartError extends LocalError {
  override name = 'MissingPartError';
  readonly missing: MissingPart;

  constructor(missing: MissingPart) {
    super(`${missing.reason} ${missing.install}`);
    this.missing = missing;
  }
}
