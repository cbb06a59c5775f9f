import { Id } from './primitives.js';

/** Extension: the answer that an agent's message or event belongs to. */
export const answerFields = {
  turn_id: Id.optional().meta({
    description:
      'The turn of the agent, as in the usage report. It stays the same when the turn continues after a decision of the user or a task of ' +
      'another agent, which has its own turn. Absent in messages of the user, and if no turn wrote the message.',
    'x-extension': true,
  }),
  in_reply_to: Id.optional().meta({
    description:
      'The message of the user that the turn answers. After decisions of the user, and in the turns of tasks, it is the original question. ' +
      'Absent if there is none.',
    'x-extension': true,
  }),
};
