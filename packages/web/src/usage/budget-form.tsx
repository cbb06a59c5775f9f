import type { FormEvent } from 'react';
import type { components } from '@uswarm/client';
import styles from '../screen/screen.module.css';
import { useClient } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Dialog, DialogActions } from '../ui/dialog.js';
import { notifyError } from '../ui/notify.js';
import ui from '../ui/ui.module.css';

interface BudgetFormProps {
  workspaceId: string;
  budget: components['schemas']['WorkspaceBudget'];
  onClose: () => void;
  onSaved: () => void;
}
export function BudgetForm({ workspaceId, budget, onClose, onSaved }: BudgetFormProps) {
  const { api } = useClient();
  function save(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const limit = (name: string, factor: number): number | null => {
      const text = String(form.get(name) ?? '').trim();
      return text === '' ? null : Math.round(Number(text) * factor);
    };
    const body = { monthly_cost_micros: limit('cost', 1_000_000), monthly_tokens: limit('tokens', 1) };
    void api
      .patch('/v1/workspaces/{id}/budget', { path: { id: workspaceId }, body })
      .then(onSaved, notifyError('The budget was not saved'));
  }
  const { monthly_cost_micros: cost, monthly_tokens: limit, currency } = budget;
  return (
    <Dialog
      title="Monthly budget"
      description="Agents stop when a limit is reached, and you are warned at 80 %. Leave a field empty for no limit. The limits of your plan still apply."
      onClose={onClose}
    >
      <form onSubmit={save} className={styles['form']}>
        <label className={ui['field']}>
          Cost in {currency}
          <input
            className={ui['input']}
            name="cost"
            type="number"
            min="0.01"
            step="0.01"
            inputMode="decimal"
            defaultValue={cost === null ? '' : cost / 1_000_000}
          />
        </label>
        <label className={ui['field']}>
          Tokens
          <input className={ui['input']} name="tokens" type="number" min="1" step="1" defaultValue={limit ?? ''} />
        </label>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit">
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
