/** As in docs/page.md. */
export const KEYS: readonly [keys: string, effect: string][] = [
  ['Enter', 'sends the message'],
  ['Shift+Enter', 'adds a line'],
  ['Ctrl+Enter, ⌘Enter', 'sends the message to the agent that works now'],
  ['@', 'lists the agents to mention'],
  ['Esc, twice', 'stops the answer'],
  ['↑ in an empty field', 'takes back the last message that was not sent'],
  ['Ctrl+K, ⌘K', 'goes to the search'],
  ['[ and ]', 'go to the previous and the next message'],
  ['A', 'goes to the card that waits'],
  ['Ctrl+., ⌘.', 'shows the calls and events to developers'],
  ['?', 'shows these keys'],
];
