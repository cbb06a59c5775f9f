import { type ComponentType, lazy } from 'react';

/** Before the second and the third attempt. */
const PAUSES_MS = [500, 2_000];

/**
 * A component whose code is loaded when it is first shown, and again after a failure: mobile connections break. Show it in a
 * `Boundary`, because after an update of the page the server may not have this code any more.
 */
export const part = <Props>(load: () => Promise<{ default: ComponentType<Props> }>) =>
  lazy(async () => {
    for (const pauseMs of PAUSES_MS) {
      try {
        return await load();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    return load();
  });
