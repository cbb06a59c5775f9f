import { randomUUID } from 'node:crypto';
import { deployEdge, imageOf, NAMESPACE, RELEASE, type Session, upgradeRelease } from '../src/index.js';
import { edgeAnswers } from './changed-release.js';
import { signUp } from './mobile-outside.js';
import { answerWith, imageOfPod, isUpToDate, type Person, personOf, podOf, send } from './rolling-swarms.js';

/** Longer than a test, so that no runtime is suspended for idleness. */
export const AWAKE = { idleSuspendAfterSeconds: 36_000 };
/** One runtime at a time, and a halt after two failures. */
export const ONE_BY_ONE = { maxConcurrent: 1, deadlineSeconds: 36_000, maxFailures: 2 };

/** A release that a test changes while people use it. */
export interface RollingRelease {
  /** Installs the release with these values, and a chart if it is another one. */
  upgrade(changes: object, chart?: string): Promise<void>;
  rollBack(): Promise<void>;
  /** Signs up this many people; resolves when their runtimes are Ready. */
  signUp(count: number, options?: { unchecked?: boolean }): Promise<Person[]>;
}

/** The default values are installed again when the session ends. */
export function createRollingRelease(session: Session): RollingRelease {
  // The edge knows pods by their addresses, which change with each release.
  async function openEdge(): Promise<void> {
    await deployEdge(session, imageOf(session.settings.images, 'edge'));
    await edgeAnswers(session);
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
      const people: Person[] = [];
      // In turn: the issuer handles one sign-up at a time.
      for (let n = 0; n < count; n += 1) people.push(personOf(await signUp(session, options)));
      await Promise.all(people.map(({ name }) => session.ready(name)));
      return people;
    },
  };
}

export const allUpToDate = async (session: Session, people: readonly Person[], withinMs: number): Promise<void> =>
  void (await Promise.all(
    people.map(({ name }) => session.swarms.until(name, 'Ready and up to date', isUpToDate, withinMs)),
  ));

export const podNamesOf = async (session: Session, people: readonly Person[]): Promise<(string | undefined)[]> =>
  Promise.all(people.map(async ({ name }) => (await podOf(session, name))?.metadata?.name));

export const imagesOf = async (session: Session, people: readonly Person[]): Promise<(string | undefined)[]> =>
  Promise.all(people.map(async ({ name }) => imageOfPod(await podOf(session, name))));

/** Each person sends a message with a nonce of their own, and gets an answer that contains it. */
export async function everyUserIsAnswered(
  people: readonly Person[],
  question: (nonce: string) => string,
  withinMs = 120_000,
): Promise<void> {
  await Promise.all(
    people.map(async (person) => {
      const nonce = randomUUID();
      await send(person, question(nonce));
      await answerWith(person, nonce, withinMs);
    }),
  );
}
