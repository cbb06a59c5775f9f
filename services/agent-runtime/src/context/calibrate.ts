/** The greatest ratio that reported usage sets. A greater one is more likely a mistake of the provider. */
const MAX_RATIO = 4;
/** The greatest scale after refusals for size. */
const MAX_SCALE = 64;
/** In smaller prompts, what a provider adds itself outweighs the text. */
const MIN_ESTIMATE = 1_000;

/** The relation of true to estimated prompt tokens per model, for the life of the process. */
export interface Calibration {
  /** The factor for estimates, at least 1. */
  scale(model: string): number;
  /**
   * Records the prompt tokens that the provider reported for a call.
   * @param call the estimate, and the scale that it contains
   */
  observe(model: string, call: { estimated: number; scale: number; reported: number }): void;
  /** Doubles the scale after the provider refused a prompt for its size. */
  overflowed(model: string): void;
}

export function createCalibration(): Calibration {
  const scales = new Map<string, number>();
  const scale = (model: string): number => scales.get(model) ?? 1;
  return {
    scale,
    observe(model, { estimated, scale: used, reported }) {
      const unscaled = estimated / used;
      if (unscaled < MIN_ESTIMATE) return;
      scales.set(model, Math.max(scale(model), Math.min(reported / unscaled, MAX_RATIO)));
    },
    overflowed(model) {
      scales.set(model, Math.min(scale(model) * 2, MAX_SCALE));
    },
  };
}
