/** Ends a command; the message is the one sentence that the user reads. */
export class Failure extends Error {
  override name = 'Failure';
}
