/** Why the runtime does not start or follow a turn. */
export type TurnRefusal =
  /** Unknown turn: lost with an earlier process, or removed after its end. */
  | 'not_found'
  /** A higher generation replaced the turn. */
  | 'superseded'
  /** The position is after the last event. */
  | 'beyond_the_end'
  /** The runtime has reached its limit of running turns. */
  | 'too_many_turns'
  /** The runtime is about to exit. */
  | 'shutting_down';

export class TurnRefused extends Error {
  override name = 'TurnRefused';
  readonly refusal: TurnRefusal;

  constructor(refusal: TurnRefusal) {
    super(refusal.replaceAll('_', ' '));
    this.refusal = refusal;
  }
}

/** `stopped`: by the user. `too_long`: the events exceed the limit. `lost`: replaced or abandoned. */
export type AbortCause = 'stopped' | 'too_long' | 'lost';

/** The reason of a turn's abort signal. */
export class TurnAborted extends Error {
  override name = 'TurnAborted';
  readonly why: AbortCause;

  constructor(why: AbortCause) {
    super(`the turn was aborted: ${why}`);
    this.why = why;
  }
}
