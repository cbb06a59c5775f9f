/** Why a part cannot run here, and what to install so that it can; both whole sentences. */
export interface MissingPart {
  reason: string;
  install: string;
}
