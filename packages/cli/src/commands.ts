import type { MessageData } from '@uswarm/contract';
import { stepLines, workflowLine } from './content-lines.js';
import { Failure } from './failure.js';
import type { Output } from './output.js';
import type { Session } from './session.js';
import { oneLine, printable } from './terminal-text.js';
import { stepsOfAnswer } from './turn-steps.js';

export interface CommandDeps {
  session: Pick<Session, 'latestMessages' | 'artifacts' | 'artifact' | 'steps'>;
  workspaceId: string;
  conversationId: string;
  artifacts: ArtifactNumbers;
  out: Output;
}

/** Numbers with which the user opens artifacts. */
export interface ArtifactNumbers {
  numberOf(artifactId: string): number;
  idOf(number: number): string | undefined;
}

export function createArtifactNumbers(): ArtifactNumbers {
  const ids: string[] = [];
  return {
    numberOf(artifactId) {
      if (!ids.includes(artifactId)) ids.push(artifactId);
      return ids.indexOf(artifactId) + 1;
    },
    idOf: (number) => ids[number - 1],
  };
}

const HELP = `/help          print this help
/artifacts     list the artifacts of the workspace
/open <n>      print an artifact
/workflows     list the workflows among the newest messages
/steps         show what the agents did for the newest answer
/stop          stop the answer
/quit          end the chat, like Ctrl-D and Ctrl-C
A number chooses an action of an open card. Any other line is sent to the swarm.
Without a model key, the demo model shows every kind of content: write "show me everything".
`;

/** Messages in which /workflows looks for workflows, and /steps for the newest answer. */
const SEARCHED = 100;

/** Executes an interactive command. @throws Failure */
export async function executeCommand(deps: CommandDeps, line: string): Promise<void> {
  const [command = '', argument = ''] = line.split(/\s+/);
  switch (command) {
    case '/help':
      return deps.out.write(HELP);
    case '/artifacts':
      return listArtifacts(deps);
    case '/open':
      return openArtifact(deps, argument);
    case '/workflows':
      return listWorkflows(deps);
    case '/steps':
      return listSteps(deps);
    case '/stop':
      throw new Failure('No answer is running.');
    default:
      throw new Failure(`Unknown command ${line}. /help lists the commands.`);
  }
}

async function listArtifacts({ session, workspaceId, artifacts, out }: CommandDeps): Promise<void> {
  const all = await session.artifacts(workspaceId);
  if (all.length === 0) out.write('There are no artifacts.\n');
  for (const { id, title, version, status, agent_slug: agent } of all) {
    const number = artifacts.numberOf(id);
    out.write(`[${number}] “${oneLine(title)}”, version ${version}, ${status}, by @${oneLine(agent)}\n`);
  }
}

async function openArtifact({ session, workspaceId, artifacts, out }: CommandDeps, argument: string): Promise<void> {
  const id = /^\d+$/.test(argument) ? artifacts.idOf(Number(argument)) : undefined;
  if (id === undefined) throw new Failure('Write /open and a number that /artifacts lists.');
  const { title, version, status, content } = await session.artifact(workspaceId, id);
  out.write(`“${oneLine(title)}”, version ${version}, ${status}:\n\n${printable(content).trimEnd()}\n`);
}

async function listWorkflows({ session, workspaceId, conversationId, out }: CommandDeps): Promise<void> {
  const messages: MessageData[] = await session.latestMessages(workspaceId, conversationId, SEARCHED);
  const workflows = messages.flatMap(({ content }) => (content.type === 'workflow' ? [content] : []));
  if (workflows.length === 0) out.write('There are no workflows.\n');
  for (const workflow of workflows.toReversed()) {
    for (const text of [workflowLine(workflow), ...stepLines(workflow)]) out.write(`${text}\n`);
  }
}

async function listSteps({ session, workspaceId, conversationId, out }: CommandDeps): Promise<void> {
  const messages = await session.latestMessages(workspaceId, conversationId, SEARCHED);
  const lines = await stepsOfAnswer(messages, (turnId) => session.steps(conversationId, turnId));
  out.write(lines.length === 0 ? 'There is no answer yet.\n' : lines.map((line) => `${line}\n`).join(''));
}
