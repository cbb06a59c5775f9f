/** Steps increase within a generation. */
export interface AnnouncedSteps {
  /** 0 if no call has reserved tokens. */
  readonly last: number;
  /** Called when a generation begins or another process continues. */
  restore(step: number): void;
  /** Marks the call while its tokens are being reserved. */
  begin(step: number): void;
  /** @param reserved true if the runtime may make the call */
  end(reserved: boolean): void;
  /** The last step after a write that reserves the current call's tokens if it completes its event. */
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
