import type { ModelContexts } from '../context/model-context.js';
import {
  afterRefusal,
  afterStatedLimit,
  afterUnexplained,
  explains,
  keptPart,
  type Size,
  type TurnFit,
  WHOLE,
} from '../context/turn-fit.js';
import type { ModelError } from '../models/port.js';

/** A prompt that was made smaller because the server refused a larger one. */
export interface Reduction {
  model: string;
  /** Share of the first request that was sent last. */
  factor: number;
  refusals: number;
  /** Tokens that the server named, if it did. */
  limit: number | undefined;
  /** True if the server accepted the last request. */
  accepted: boolean;
}

/** Refusals of one turn. Each retry is smaller, so this is only reached by a server that refuses everything. */
const MAX_REFUSALS = 24;
/** Refusals that name no cause, or one that is not known: a smaller request rarely helps. */
const MAX_UNEXPLAINED = 4;
/** A retry is smaller than the refused request by at least this part. */
const STEP = 1 / 8;

/** Makes requests of one turn or summary smaller after refusals for size. */
export interface Overflows {
  readonly fit: TurnFit;
  /** @throws the last refusal, if the request is not smaller than the refused one */
  sending(request: { size: Size }, maxOutputTokens: number): void;
  /** The next request is smaller. @throws `error` if it is not about the size, or cannot be made smaller */
  refused(error: ModelError): void;
  accepted(): void;
}

export function createOverflows(
  model: string,
  { contexts, onReduced }: { contexts: ModelContexts; onReduced: (reduction: Reduction) => void },
): Overflows {
  let fit = WHOLE;
  let sent: Size = { tokens: 0, bytes: 0 };
  let output = 0;
  /** The last refusal without an accepted request after it. */
  let open: { error: ModelError; size: Size; isExplained: boolean } | undefined;
  let limit: number | undefined;
  let unexplained = 0;
  let gaveUp = false;

  function report(accepted: boolean): void {
    onReduced({ model, factor: keptPart(fit, sent), refusals: fit.refusals, limit, accepted });
  }

  function giveUp(error: ModelError): never {
    gaveUp = true;
    if (error.contextOverflow) report(false);
    throw error;
  }

  function afterOverflow({ contextLimit }: ModelError): void {
    const context = contexts.of(model);
    const isNew = contextLimit !== undefined && contextLimit !== limit;
    const isExplained = isNew && explains(contextLimit, sent, output, context);
    if (contextLimit !== undefined) {
      limit = contextLimit;
      contexts.refused(model, contextLimit);
    }
    fit = isExplained ? afterStatedLimit(fit, sent) : afterRefusal(fit, sent);
  }

  return {
    get fit() {
      return fit;
    },
    sending({ size }, maxOutputTokens) {
      if (open !== undefined) {
        const { size: refused, error } = open;
        const isSmaller =
          size.bytes <= refused.bytes * (1 - STEP) ||
          (open.isExplained && (maxOutputTokens < output || size.bytes < refused.bytes));
        if (!isSmaller) giveUp(error);
      }
      sent = size;
      output = maxOutputTokens;
    },
    refused(error) {
      if (gaveUp) throw error;
      if (error.contextOverflow) {
        if (fit.refusals >= MAX_REFUSALS) giveUp(error);
        const before = limit;
        afterOverflow(error);
        open = { error, size: sent, isExplained: limit !== undefined && limit !== before };
        return;
      }
      const { acceptedBytes } = contexts.of(model);
      const canBeSize =
        error.unexplained === 'vague' ||
        (error.unexplained === 'other' && acceptedBytes > 0 && acceptedBytes < sent.bytes);
      const most = error.unexplained === 'vague' ? MAX_UNEXPLAINED : 1;
      if (!canBeSize || unexplained >= most) throw error;
      unexplained += 1;
      fit = afterUnexplained(fit, sent, acceptedBytes);
      open = { error, size: sent, isExplained: false };
    },
    accepted() {
      if (open === undefined) return;
      open = undefined;
      unexplained = 0;
      report(true);
    },
  };
}
