import { randomUUID } from 'node:crypto';
import { deployEdge } from './edge.js';
import { NAMESPACE, RELEASE } from './fixtures.js';
import { upgradeRelease } from './release.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';
import { waitForEdge } from './changed-release.js';
import { signUp } from './sign-up.js';
import { keepBusy } from './test-users.js';
import { answerWith, imageOfPod, isUpToDate, type RuntimeUser, runtimeUserOf, podOf, send } from './rolling-swarms.js';

/** Longer than a test, so that no runtime is suspended for idleness. */
export const AWAKE = { idleSuspendAfterSeconds: 36_000 };
/** One runtime at a time, and a halt after two failures. */
export const ONE_BY_ONE = { maxConcurrent: 1, deadlineSeconds: 36_000, maxFailures: 2 };

/** The pause between an answer and a user's next message, in milliseconds. */
const ASK_EVERY_MS = 10_000;

/** A release that a test changes while users use it. */
export interface RollingRelease {
  /** Upgrades the release to these values, optionally to another chart. */
  upgrade(changes: object, chart?: string): Promise<void>;
  rollBack(): Promise<void>;
  /** Signs up this many users; resolves when their runtimes are Ready. */
  signUp(count: number, options?: { unchecked?: boolean }): Promise<RuntimeUser[]>;
}

/** Restores the default values when the session is closed. */
export function createRollingRelease(session: Session): RollingRelease {
  // The edge uses pod addresses, which change with each upgrade.
  async function openEdge(): Promise<void> {
    await deployEdge(session, imageOf(session.settings.images, 'edge'));
    await waitForEdge(session);
  }

  async function upgrade(changes: object, chart?: string): Promise<void> {
    await upgradeRelease(session, changes, chart);
    await openEdge();
  }

  session.onClose(() => upgrade({}));
  return {
    upgrade,
    async rollBack() {
      const { helm } = session.tools;
      await helm(['rollback', RELEASE, '-n', NAMESPACE.release, '--wait', '--timeout', '3m'], { timeoutMs: 200_000 });
      await openEdge();
    },
    async signUp(count, options) {
      const users: RuntimeUser[] = [];
      // In turn: the issuer handles one sign-up at a time.
      for (let n = 0; n < count; n += 1) users.push(runtimeUserOf(await signUp(session, options)));
      await Promise.all(users.map(({ name }) => session.ready(name)));
      return users;
    },
  };
}

export const allUpToDate = async (session: Session, users: readonly RuntimeUser[], withinMs: number): Promise<void> =>
  void (await Promise.all(
    users.map(({ name }) => session.swarms.until(name, 'Ready and up to date', isUpToDate, withinMs)),
  ));

export const podNamesOf = async (session: Session, users: readonly RuntimeUser[]): Promise<(string | undefined)[]> =>
  Promise.all(users.map(async ({ name }) => (await podOf(session, name))?.metadata?.name));

export const imagesOf = async (session: Session, users: readonly RuntimeUser[]): Promise<(string | undefined)[]> =>
  Promise.all(users.map(async ({ name }) => imageOfPod(await podOf(session, name))));

/** Each user sends a message with a unique nonce and receives an answer that contains it. */
export async function everyUserIsAnswered(
  users: readonly RuntimeUser[],
  question: (nonce: string) => string,
  withinMs = 120_000,
): Promise<void> {
  await Promise.all(
    users.map(async (user) => {
      const nonce = randomUUID();
      await send(user, question(nonce), withinMs);
      await answerWith(user, nonce, withinMs);
    }),
  );
}

/** Users who send messages until it is stopped. */
export interface Load {
  /**
   * Waits for the answers to the sent messages. @returns their number, and the errors for messages that were not
   * answered once
   */
  stop(): Promise<{ asked: number; unanswered: string[] }>;
}

/** Each user sends the next message some seconds after the last answer, so that runtimes are also idle. */
export function keepAsking(users: readonly RuntimeUser[]): Load {
  let asked = 0;
  const unanswered: string[] = [];
  const busy = users.map((user) =>
    keepBusy(async () => {
      asked += 1;
      await everyUserIsAnswered([user], (nonce) => `Repeat ${nonce}`, 180_000).catch((error: unknown) => {
        unanswered.push(`${user.name}: ${String(error)}`);
      });
    }, ASK_EVERY_MS),
  );
  return {
    async stop() {
      for (const each of busy) each.stop();
      await Promise.all(busy.map(({ ended }) => ended));
      return { asked, unanswered };
    },
  };
}
