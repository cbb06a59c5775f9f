/** Remembers refused parts per model. They expire, so that a repaired server gets whole requests again. */
interface LearnedParts {
  /** The parts to leave out. */
  of(model: string): ReadonlySet<string>;
  outputLimit(model: string): number;
  learn(model: string, part: string): void;
  learnOutputLimit(model: string, tokens: number): void;
}

export interface LearnedPartsDeps {
  /** Called once per model and part. */
  onLearned?: ((learned: { model: string; part: string }) => void) | undefined;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
}

const FORGET_MS = 60 * 60_000;

export function createLearnedParts({ onLearned, now = () => performance.now() }: LearnedPartsDeps): LearnedParts {
  const partsByModel = new Map<string, Map<string, number>>();
  const limits = new Map<string, { tokens: number; until: number }>();
  const told = new Set<string>();

  function tell(model: string, part: string): void {
    const key = `${model} ${part}`;
    if (told.has(key)) return;
    told.add(key);
    onLearned?.({ model, part });
  }

  return {
    of(model) {
      const parts = partsByModel.get(model) ?? new Map<string, number>();
      return new Set([...parts].flatMap(([part, until]) => (until > now() ? [part] : [])));
    },
    outputLimit(model) {
      const limit = limits.get(model);
      return limit !== undefined && limit.until > now() ? limit.tokens : Infinity;
    },
    learn(model, part) {
      const parts = partsByModel.get(model) ?? new Map<string, number>();
      partsByModel.set(model, parts.set(part, now() + FORGET_MS));
      tell(model, part);
    },
    learnOutputLimit(model, tokens) {
      limits.set(model, { tokens, until: now() + FORGET_MS });
      tell(model, 'output limit');
    },
  };
}
