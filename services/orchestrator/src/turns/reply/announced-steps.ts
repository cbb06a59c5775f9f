/** The steps of the model calls that a runtime announces. They increase within a generation. */
export interface AnnouncedSteps {
  /** The step of the last call whose tokens are reserved; 0 without one. */
  readonly last: number;
  /** Sets the last step, when a generation begins or another process continues. */
  restore(step: number): void;
  /** The tokens of a call are being reserved. */
  begin(step: number): void;
  /** @param reserved whether the runtime may make the call */
  end(reserved: boolean): void;
  /** The last step after a write, which reserves the tokens of the current call if it completes its event. */
  stored(completes: boolean): number;
}

export function createAnnouncedSteps(): AnnouncedSteps {
  let last = 0;
  let current = 0;
  const restore = (step: number): void => {
    last = step;
    current = step;
  };
  return {
    get last() {
      return last;
    },
    restore,
    begin: (step) => void (current = step),
    end: (reserved) => restore(reserved ? current : last),
    stored: (completes) => (completes ? current : last),
  };
}
