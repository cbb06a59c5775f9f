import type { Plan } from '../core/catalog.js';

/** What is stored of a user's plan. */
export interface StoredPlan {
  plan_code: string;
  plan_expires_at: Date | null;
}

/** The plan that applies, and until when. */
export interface Subscription {
  plan: Plan;
  /** Null if it does not end. */
  expiresAt: Date | null;
}

export interface Plans {
  find(code: string): Plan | undefined;
  codes: string[];
  /** One that has ended, or that there is no more, leaves the default plan. Pure. */
  of(stored: StoredPlan, now: Date): Subscription;
}

/** The default plan, also in the database. */
const DEFAULT_PLAN = 'free';

export function createPlans(list: readonly Plan[]): Plans {
  const byCode = new Map(list.map((plan) => [plan.code, plan]));
  const fallback = byCode.get(DEFAULT_PLAN);
  if (fallback === undefined) throw new Error(`the plans must include the default plan "${DEFAULT_PLAN}"`);
  return {
    find: (code) => byCode.get(code),
    codes: list.map(({ code }) => code),
    of({ plan_code, plan_expires_at: expiresAt }, now) {
      const plan = byCode.get(plan_code);
      if (plan === undefined || (expiresAt !== null && expiresAt <= now)) return { plan: fallback, expiresAt: null };
      return { plan, expiresAt };
    },
  };
}
