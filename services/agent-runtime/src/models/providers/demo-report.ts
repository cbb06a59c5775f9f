import { answer, type DemoMove } from './demo-scene.js';

const START = '[Message of the app]';
const REPORT = /^\[Message of the app\] The workflow “([^”]*)” that you started has ended\. Its status is “(\w+)”/;
const STEP =
  /(?:^|\n\n)Step “([^”]*)” by @([\w-]+), (\w+):\n<untrusted id="(\w+)" [^>]*>\n([\s\S]*?)\n<\/untrusted id="\4">/g;

/** The answer to the message that a workflow ended; undefined for other messages. */
export function workflowReport(question: string): DemoMove | undefined {
  const start = question.lastIndexOf(START);
  if (start < 0) return undefined;
  const message = question.slice(start);
  const [, name, status] = REPORT.exec(message) ?? [];
  // A later user message is a new request.
  const isLast = !message.replaceAll(STEP, '').includes('\n');
  if (name === undefined || !isLast) return undefined;
  const lines = [...message.matchAll(STEP)].map(([, step, agent, state, , result = '']) => {
    const text = result.replaceAll(/\s+/g, ' ').trim();
    return `- ${step} (@${agent}, ${state})${text === '' ? '' : `: ${text}`}`;
  });
  return answer(`The workflow “${name}” has ended: ${status}.\n\n${lines.join('\n')}`);
}
