import { Gauge } from 'prom-client';
import type { Logger } from './logger.js';
import type { Registry } from './metrics.js';

/** The orchestrator's verdict on a service token: `expired` if this process' clock is behind. */
export const TOKEN_VERDICTS = ['accepted', 'expired', 'invalid'] as const;
export type TokenVerdict = (typeof TOKEN_VERDICTS)[number];

export interface ServiceCredentialDeps {
  /** The setting with the key, for the log. */
  setting: string;
  registry: Registry;
  logger: Pick<Logger, 'error' | 'info'>;
  /** Milliseconds between two proofs, if no response proves it in between. */
  everyMs?: number;
  /** Milliseconds for which an accepted token proves the credential, although another replica refuses it. */
  provenMs?: number;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/**
 * Tracks if the orchestrator accepts this process' service tokens. A refused service can do nothing for users, and must
 * not tell them that their own credentials are wrong. An orchestrator that does not respond proves nothing.
 */
export interface ServiceCredential {
  /** Records what a response states about the token. */
  note(verdict: TokenVerdict): void;
  /** For readiness: false only while the orchestrator refuses the tokens. */
  isAccepted(): boolean;
  /** True if the orchestrator has just accepted a token; asks it if it is not known. */
  proven(): Promise<boolean>;
  /** Asks, and repeats it periodically. Resolves after the first response or failure. */
  start(): Promise<void>;
  stop(): void;
}

const CAUSES: Record<Exclude<TokenVerdict, 'accepted'>, (setting: string) => string> = {
  expired: () => 'its clock is behind, or that of the orchestrator is ahead',
  invalid: (setting) => `${setting} is not a key of the orchestrator`,
};

/** @param ask calls the orchestrator, and notes the verdict of its response. May reject */
export function createServiceCredential(
  ask: (note: ServiceCredential['note']) => Promise<unknown>,
  {
    setting,
    registry,
    logger,
    everyMs = 10_000,
    provenMs = 15_000,
    now = () => performance.now(),
  }: ServiceCredentialDeps,
): ServiceCredential {
  let acceptedAt = Number.NEGATIVE_INFINITY;
  let refusedAs: Exclude<TokenVerdict, 'accepted'> | undefined;
  let reported: TokenVerdict | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const isAccepted = (): boolean => refusedAs === undefined || now() - acceptedAt < provenMs;

  const gauge: Gauge<'reason'> = new Gauge({
    name: 'uswarm_service_token_refused',
    help: '1 while the orchestrator refuses the service token of this process, by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      for (const reason of ['expired', 'invalid'] as const) {
        gauge.set({ reason }, !isAccepted() && refusedAs === reason ? 1 : 0);
      }
    },
  });

  function note(verdict: TokenVerdict): void {
    if (verdict === 'accepted') {
      acceptedAt = now();
      refusedAs = undefined;
    } else refusedAs = verdict;
    if (refusedAs === reported || !(refusedAs === undefined || !isAccepted())) return;
    if (refusedAs !== undefined) {
      logger.error({ reason: refusedAs }, `the orchestrator refuses the service token: ${CAUSES[refusedAs](setting)}`);
    } else if (reported !== undefined) logger.info('the orchestrator accepts the service token again');
    reported = refusedAs;
  }

  const prove = (): Promise<unknown> => ask(note).catch(() => undefined);

  async function check(): Promise<void> {
    if (now() - acceptedAt >= everyMs) await prove();
    if (!isStopped) timer = setTimeout(() => void check(), everyMs).unref();
  }

  return {
    note,
    isAccepted,
    async proven() {
      const isKnown = (): boolean => refusedAs === undefined && now() - acceptedAt < everyMs;
      if (!isKnown()) await prove();
      return isKnown();
    },
    start: check,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
