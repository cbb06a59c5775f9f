import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '@uswarm/contract';
import type { Answer } from '@uswarm/mcp-client';
import { questionCard } from '../../records/question-card.js';
import type { AskDuringCall } from '../tools/platform-tool.js';
import type { AskedCall } from '../writer/turn-budget.js';
import type { TurnWriter } from '../writer/turn-writes.js';

/** @returns ends the watch */
export type WatchAnswers = (check: () => void) => () => void;

export interface CallQuestionsDeps {
  writer: Pick<TurnWriter, 'question' | 'answer'>;
  watchAnswers: WatchAnswers;
}

/** Signals can be lost. */
const POLL_MS = 5_000;
const QUESTION_MS = LIMITS.questionMinutes * 60_000;
const CANCELED: Answer = { action: 'cancel' };

/** Shows a server's questions during one call, and waits until the user answers, the turn ends or the question expires. */
export function createCallQuestions(
  { writer, watchAnswers }: CallQuestionsDeps,
  call: Pick<AskedCall, 'id' | 'tool' | 'argumentsHash'>,
  signal: AbortSignal,
): AskDuringCall {
  let isFirst = true;

  async function answered(cardMessageId: string): Promise<Answer> {
    const ended = AbortSignal.any([signal, AbortSignal.timeout(QUESTION_MS)]);
    let wake = Promise.withResolvers<void>();
    const endWatch = watchAnswers(() => wake.resolve());
    try {
      while (!ended.aborted) {
        // Before it is read, so that no signal is lost.
        wake = Promise.withResolvers();
        const answer = await writer.answer(cardMessageId);
        if (answer !== undefined) return answer ?? CANCELED;
        const poll = sleep(POLL_MS, undefined, { signal: ended, ref: false }).catch(() => undefined);
        await Promise.race([wake.promise, poll]);
      }
      return CANCELED;
    } finally {
      endWatch();
    }
  }

  return async (from, question) => {
    const first = isFirst;
    isFirst = false;
    if (signal.aborted) return CANCELED;
    const cardMessageId = await writer.question({ ...call, ...questionCard(from, question) }, first);
    if (cardMessageId === undefined) return CANCELED;
    return answered(cardMessageId);
  };
}
