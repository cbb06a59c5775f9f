import { type RawBuilder, sql } from 'kysely';

/** A time by the database's clock, so that replicas' clocks may differ. */
export const inMs = (ms: number): RawBuilder<Date> => sql<Date>`now() + ${ms} * interval '1 millisecond'`;
