import { messageError } from '@uswarm/contract';
import { isBackground } from '../background-turns.js';
import { type Write } from '../commit.js';
import { stoppedReply } from '../reply/finished-reply.js';
import { showApproval } from './turn-budget.js';
import { answeredReply, type Ended, type FinishedReply } from './turn-ending.js';
import type { TurnWriter } from './turn-writes.js';

import type { Writing } from './writing.js';

/** Before the turn was suspended, the user decided on a call or deleted its card, or a task ended. */
class Decided extends Error {
  override name = 'Decided';
}

/** Before the turn was merged into the next one, that was stopped or deleted. */
class NextTurnChanged extends Error {
  override name = 'NextTurnChanged';
}

/** Ends the turn and its job. */
export function endWrites(
  writing: Writing,
): Pick<TurnWriter, 'handOver' | 'suspend' | 'askForTokens' | 'finish' | 'merge' | 'abandon'> {
  const { deps, turn, known, shownMessages, budget, beginning, endReply, setUserMessage, commit } = writing;
  const { turns, messages, events, metrics } = deps;
  const workspaceId = turn.workspace_id;
  /**
   * Ends the reply with `end`, or as stopped if the user stopped the turn. A stop locks the job as well, so none is
   * lost.
   */
  async function endUnlessStopped(reply: FinishedReply, end: Write<Ended>): Promise<Ended> {
    const [ended, last] = await commit(
      async (tx) => {
        const stopped = (await turns.isStopRequested(tx, turn.id)) ? stoppedReply(reply.text) : undefined;
        return [await (stopped === undefined ? end(tx) : endReply(stopped, tx)), stopped ?? reply] as const;
      },
      { as: 'last' },
    );
    metrics?.ended(turn, last);
    return ended;
  }

  return {
    async handOver(text, agentId) {
      const reply = { turnStatus: 'done', messageStatus: 'delegated', text, errorCode: null } as const;
      const userMessageId = turn.resumes_message_id ?? turn.user_message_id;
      const { conversation_id: conversationId, user_id: userId } = turn;
      return endUnlessStopped(reply, async (tx) => {
        const handedOver = await endReply(reply, tx);
        const [userMessage] = await messages.findMessages(tx, [userMessageId]);
        const ordinal = userMessage?.seq ?? handedOver.seq;
        const scheduleRunId = turn.schedule_run_id;
        await deps.queue.follow(
          { workspaceId, conversationId, agentId, userMessageId, userId, ordinal, scheduleRunId },
          tx,
        );
        return handedOver;
      });
    },

    async suspend(text, callIds) {
      const reply = answeredReply(text);
      try {
        return await endUnlessStopped(reply, async (tx) => {
          const suspended = await endReply(reply, tx, true);
          // After `endReply` has locked the workspace, as every decision does.
          const delegated = new Set(
            (await deps.delegations.findOpenDelegations(tx, turn.id)).map(({ callId }) => callId),
          );
          const asked = callIds.filter((id) => !delegated.has(id));
          if (asked.length > 0 && !(await deps.approvals.areApprovalsOpen(tx, turn.id, asked))) throw new Decided();
          return suspended;
        });
      } catch (error) {
        if (error instanceof Decided) return undefined;
        throw error;
      }
    },

    async askForTokens(text) {
      known.isPlain = false;
      const reply = answeredReply(text);
      return endUnlessStopped(reply, async (tx) => {
        await showApproval(deps, shownMessages, turn, await budget.question(tx), tx);
        tx.afterCommit(() => metrics?.budget('asked'));
        return endReply(reply, tx, true);
      });
    },

    async finish(reply) {
      const isAnswered = reply.messageStatus === 'delivered' && !isBackground(turn);
      const ended = await commit((tx) => endReply(reply, tx), {
        as: 'last',
        first: isAnswered ? deps.followUp : undefined,
      });
      metrics?.ended(turn, reply);
      return ended;
    },

    async merge(intoTurnId) {
      try {
        await commit(
          async (tx) => {
            await events.lock(workspaceId, tx);
            const answeredWith = await turns.mergeTurn(tx, turn.id, intoTurnId);
            if (answeredWith === undefined) throw new NextTurnChanged();
            await setUserMessage('read', tx, { answeredWith });
          },
          { as: 'last' },
        );
        return true;
      } catch (error) {
        if (error instanceof NextTurnChanged) return false;
        throw error;
      }
    },

    async abandon(errorCode, sentence, turnStatus = 'failed') {
      const { reply_message_id: replyId } = turn;
      const ended = await commit(
        async (tx) => {
          // A repeated transaction has rolled its reply back.
          turn.reply_message_id = replyId;
          if (turn.reply_message_id === null && !isBackground(turn))
            turn.reply_message_id = (await beginning.insertReply(tx)).replyId;
          if (!isBackground(turn) && !(await turns.isAnsweredElsewhere(tx, turn)))
            await setUserMessage('failed', tx, { errorCode: messageError(errorCode).code });
          const reply = { turnStatus, messageStatus: 'failed', text: sentence, errorCode } as const;
          return endReply(reply, tx);
        },
        { as: 'last' },
      );
      metrics?.ended(turn, { turnStatus, errorCode });
      return ended;
    },
  };
}
