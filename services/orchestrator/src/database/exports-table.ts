import type { ExportStatus } from '@uswarm/contract';
import type { ColumnType, Generated } from 'kysely';

export interface ExportsTable {
  id: string;
  user_id: string | null;
  status: Generated<ExportStatus>;
  object_id: string | null;
  size: number | null;
  created_at: ColumnType<Date, Date | undefined, never>;
  expires_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}
