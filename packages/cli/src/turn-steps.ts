import type { MessageData, TurnStep, TurnSteps } from '@uswarm/contract';
import type { Session } from './session.js';
import { fit, oneLine } from './terminal-text.js';

/** Columns for quoted texts and arguments. */
const QUOTED = 100;
const quoted = (text: string): string => fit(oneLine(text), QUOTED);

/** One line about a step; unknown steps have none. */
function lineOf({ model_call: model, text, tool_call: call, approval, delegation }: TurnStep): string | undefined {
  if (model !== null)
    return `asked ${oneLine(model.model)}: ${model.prompt_tokens + model.completion_tokens} tokens, ${model.status}`;
  if (text !== null) return `wrote “${quoted(text.text)}”`;
  if (call !== null) return `used ${`${oneLine(call.tool)} ${quoted(call.arguments ?? '')}`.trim()}: ${call.status}`;
  if (approval !== null) return `asked for your approval: ${approval.status}`;
  if (delegation !== null) return `gave a task to ${oneLine(delegation.agent.name)}: “${quoted(delegation.task)}”`;
  return undefined;
}

/** Lines about each step for the newest question. The steps for a task follow the step that gave it. */
export async function stepsOfAnswer(
  messages: readonly MessageData[],
  load: (turnId: string) => ReturnType<Session['steps']>,
): Promise<string[]> {
  const newest = messages.find(({ turn_id: turn, in_reply_to: question }) => turn && question)?.in_reply_to;
  const answers = messages.filter(({ in_reply_to: question }) => newest && question === newest);
  const turns = await Promise.all(
    [...new Set(answers.toReversed().flatMap(({ turn_id: turn }) => turn ?? []))].map(load),
  );

  async function linesOf({ agent, status, steps }: TurnSteps, indent: string): Promise<string[]> {
    const lines = [`${indent}${oneLine(agent.name)} (${status})`];
    for (const step of steps) {
      const line = lineOf(step);
      if (line !== undefined) lines.push(`${indent}  ${line}`);
      if (step.delegation !== null)
        lines.push(...(await linesOf(await load(step.delegation.turn_id), `${indent}    `)));
    }
    return lines;
  }
  // Delegated turns are listed below their task.
  const own = turns.filter(({ delegated_by: by }) => by === null);
  return (await Promise.all(own.map((turn) => linesOf(turn, '')))).flat();
}
