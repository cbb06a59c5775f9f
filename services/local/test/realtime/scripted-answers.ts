import { randomUUID } from 'node:crypto';
import { type ModelScript, words } from '@uswarm/dev-servers';

/** Begins a message text that an agent answers with a card. */
export const ASK_FOR_CARD = 'Let me choose. ';

/** Models stream this many words, one every 30 ms. */
const ANSWER = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ');
const ACTION_CARD_TOOL = 'action_card_tool';

/** Answers with a long text, or offers a card with two choices. The label of each choice is different. */
export const scriptedAnswers: ModelScript = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === 'tool') return words('Please choose.');
  if (last?.role === 'user' && JSON.stringify(last.content).includes(ASK_FOR_CARD)) {
    const card = randomUUID();
    const actions = ['The first', 'The second'].map((label) => ({ label: `${label} of ${card}` }));
    return [{ toolCalls: [{ name: ACTION_CARD_TOOL, arguments: { title: 'Which one?', actions } }] }];
  }
  return words(ANSWER).flatMap((step) => [step, { delayMs: 30 }]);
};
