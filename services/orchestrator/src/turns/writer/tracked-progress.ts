import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import type { SavedText, TurnProgress } from '../reply/turn-progress.store.js';
import type { FencedWrites } from './fenced-writes.js';
import type { SavedProgress, TurnWriter } from './turn-writes.js';

export interface TrackedProgressDeps {
  progress: Pick<TurnProgress, 'save' | 'saveText'>;
  textSaved?: (saved: SavedText) => void;
}

export interface TrackedProgress {
  track: TurnWriter['track'];
  save(): Promise<void>;
}

export function createTrackedProgress(
  { progress, textSaved }: TrackedProgressDeps,
  writes: Pick<FencedWrites, 'track' | 'saveProgress'>,
  job: LeasedJob,
): TrackedProgress {
  let save = (): Promise<void> => Promise.resolve();
  return {
    track(source) {
      let written: SavedProgress | undefined;
      writes.track({
        async write(tx, completes) {
          written = source.current(completes);
          if (written !== undefined) await progress.save(job, written.progress, written.texts, tx);
        },
        committed() {
          if (written !== undefined) source.saved(written.version);
        },
      });
      save = () =>
        writes.saveProgress(async () => {
          const current = source.current(false);
          if (current?.texts === undefined) return;
          const saved = await progress.saveText(job, current.progress, current.texts);
          if (saved === undefined) return;
          source.saved(current.version);
          textSaved?.(saved);
        });
    },
    save: () => save(),
  };
}
