/** An expected error. The command prints its message, one sentence, and exits. */
export class Failure extends Error {
  override name = 'Failure';
}
