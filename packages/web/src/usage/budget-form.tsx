import type { components } from '@uswarm/client';
import { useClient } from '../session/use-client.js';
import { FormDialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { budgetOf } from './amounts.js';

interface BudgetFormProps {
  workspaceId: string;
  budget: components['schemas']['WorkspaceBudget'];
  onClose: () => void;
  onSaved: () => void;
}
export function BudgetForm({ workspaceId, budget, onClose, onSaved }: BudgetFormProps) {
  const { api } = useClient();
  async function save(form: FormData): Promise<void> {
    await api.patch('/v1/workspaces/{id}/budget', { path: { id: workspaceId }, body: budgetOf(form) });
    onClose();
    onSaved();
  }
  const { monthly_cost_micros: cost, monthly_tokens: limit, currency } = budget;
  return (
    <FormDialog
      title="Monthly budget"
      description="Agents stop when a limit is reached, and you are warned at 80 %. Leave a field empty for no limit. The limits of your plan still apply."
      onClose={onClose}
      onSubmit={save}
    >
      <Field
        label={`Cost in ${currency}`}
        name="cost"
        type="number"
        min="0.01"
        step="0.01"
        inputMode="decimal"
        defaultValue={cost === null ? '' : cost / 1_000_000}
      />
      <Field label="Tokens" name="tokens" type="number" min="1" step="1" defaultValue={limit ?? ''} />
    </FormDialog>
  );
}
