/** Why a turn, or the attempt to follow one, has no proper end. */
export type TurnRefusal =
  /** No such turn here: lost with an earlier process, or forgotten since it ended. */
  | 'not_found'
  /** A higher generation of the turn took its place. */
  | 'superseded'
  /** The caller claims more events than there are. */
  | 'beyond_the_end'
  /** As many turns run as one runtime takes on. */
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

/** `stopped` is the user's wish, `too_long` means the events outgrew what is kept, else it is lost. */
export type AbortCause = 'stopped' | 'too_long' | 'lost';

/** The reason a turn's abort signal carries. */
export class TurnAborted extends Error {
  override name = 'TurnAborted';
  readonly why: AbortCause;

  constructor(why: AbortCause) {
    super(`the turn was aborted: ${why}`);
    this.why = why;
  }
}
