import { randomUUID } from 'node:crypto';
import { type Dialect, dialects, type ModelServer, type ReceivedRequest, startModelServer } from '@uswarm/dev-servers';
import type { MessageData } from '@uswarm/contract';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { byTier } from '@uswarm/testkit/tier';
import { modelSettings } from './model-settings.js';
import { type SeparateServices, startSeparateServices } from './separate.js';
import { startToolServer } from './tool-server.js';

type ModelProtocol = ReceivedRequest['protocol'];

/** Provider waits above this many milliseconds belong to the runtime's tests, whose clock is simulated. */
const LONGEST_WAIT_MS = 5_000;
/** Milliseconds of silence after which the runtime gives a response up. */
const SILENCE_MS = 8_000;
/** Users who ask at the same time. */
const USERS = 6;

/** A model server's behaviour, and the model name that selects it. */
export interface Habit {
  group: string;
  model: string;
  dialect: Dialect;
}

/** The user sees the replies, and the model server the requests. */
export interface SeenHabit {
  /** Agent messages with text. */
  replies: readonly HabitOutcome[];
  /** The turn's requests. */
  requests: readonly ReceivedRequest[];
}

/** A turn with more argument characters ends with an error. */
const MAX_ARGUMENTS = 100_000;

const isTooLarge = ({ expected: { calls = [] } }: Dialect): boolean => JSON.stringify(calls).length > MAX_ARGUMENTS;
const isTooSlow = ({ expected: { waits = [] } }: Dialect): boolean => waits.some((ms) => ms > LONGEST_WAIT_MS);

/** In the core, each third habit of each group: a runtime alone meets all of them (`dialect-turns`). */
export const habitsOf = (protocol: ModelProtocol): Habit[] =>
  Object.entries(dialects).flatMap(([group, members]) =>
    members
      .filter((dialect) => dialect.protocol === protocol || dialect.protocol === 'both')
      .filter((dialect) => !isTooSlow(dialect) && !isTooLarge(dialect))
      .map((dialect, index) => ({ group, model: `${group}-${index}`, dialect }))
      .filter((_, index) => byTier({ core: index % 3 === 0, all: true })),
  );

function settingsOf(protocol: ModelProtocol, server: ModelServer, habits: readonly Habit[]): Record<string, string> {
  const names = habits.map(({ model }) => model).join(',');
  return protocol === 'openai'
    ? { ...modelSettings(server), OPENAI_ALLOWED_MODELS: names }
    : {
        ANTHROPIC_BASE_URL: server.baseUrl,
        ANTHROPIC_API_KEY: 'test',
        ANTHROPIC_MODEL: 'scripted',
        ANTHROPIC_ALLOWED_MODELS: names,
      };
}

/** An agent's text, and the end of its reply. */
export interface HabitOutcome {
  status: MessageData['status'];
  /** Failure code. */
  error: string | null;
  text: string;
}

export interface HabitRun {
  /** Asks a question that the server answers with this habit. */
  see(habit: Habit): Promise<SeenHabit>;
  close(): Promise<void>;
}

/** Installs orchestrator, gateways and runtimes in front of a server that has a separate model name for each habit. */
export async function startHabits(protocol: ModelProtocol): Promise<HabitRun> {
  const habits = habitsOf(protocol);
  const byModel = new Map(habits.map((habit) => [habit.model, habit]));
  const requests = new Map<string, ReceivedRequest[]>();
  const server = await startModelServer({
    script(_request, _index, received) {
      const { model } = received.body;
      const earlier = requests.get(model) ?? [];
      requests.set(model, [...earlier, received]);
      const steps = byModel.get(model)?.dialect.script(earlier.length, received);
      return steps ?? [{ text: 'Done.' }, { usage: { prompt: 30, completion: 2 } }];
    },
  });
  // A text that only looks like a call is one only if it names an offered tool.
  const tools = await startToolServer();
  const services = await startSeparateServices(
    {
      ...settingsOf(protocol, server, habits),
      ...tools.env,
      // No requests for titles.
      SUMMARY_WORKERS: '0',
      USWARM_MODEL_TIMEOUT_MS: String(SILENCE_MS),
    },
    { modelGateway: true },
  );
  // A name for each habit, so that what a runtime learns about one server does not change the requests to another.
  await services.query('ALTER TABLE agents DROP CONSTRAINT agents_model_check');
  const users = await Promise.all(Array.from({ length: USERS }, () => startUser(services)));
  const idle = [...users];
  const waiting: ((user: TestClient) => void)[] = [];

  async function withUser<T>(work: (user: TestClient) => Promise<T>): Promise<T> {
    const user = idle.pop() ?? (await new Promise<TestClient>((resolve) => waiting.push(resolve)));
    try {
      return await work(user);
    } finally {
      const next = waiting.shift();
      if (next === undefined) idle.push(user);
      else next(user);
    }
  }

  return {
    see: ({ model, dialect }) =>
      withUser(async (user) => {
        await services.query('UPDATE agents SET model = $2 WHERE workspace_id = $1', [user.workspaceId, model]);
        const replies = await ask(user, dialect.questions ?? ['Hello']);
        return { replies, requests: requests.get(model) ?? [] };
      }),
    async close() {
      for (const user of users) user.close();
      await services.close();
      await tools.close();
      await server.close();
    },
  };
}

async function startUser(services: SeparateServices): Promise<TestClient> {
  const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
  return startTestClient({ ...services, token });
}

/** Asks in a new conversation. @returns the replies when the turn has ended */
async function ask({ api, workspaceId, send, saw }: TestClient, questions: readonly string[]): Promise<HabitOutcome[]> {
  const conversations = `/v1/workspaces/${workspaceId}/conversations`;
  const created = await api('POST', conversations, { type: 'swarm' });
  if (created.status !== 201) throw new Error(`No conversation: ${JSON.stringify(created)}`);
  const { id } = (created.body as { data: { id: string } }).data;
  await send(questions.join('\n'), id);
  await saw('message.done', ({ conversation_id }: { conversation_id: string }) => conversation_id === id);
  const listed = await api('GET', `${conversations}/${id}/messages`);
  return (listed.body as { data: MessageData[] }).data.flatMap(({ role, content, status, error }) =>
    role === 'agent' && content.type === 'text' ? [{ status, error: error?.code ?? null, text: content.text }] : [],
  );
}
