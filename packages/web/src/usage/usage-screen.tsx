import { useState } from 'react';
import { Choice, MeterBar, Screen, Section, Show } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { useLoaded } from '../session/use-client.js';
import { DialogButton } from '../ui/dialog.js';
import { Bar, EmptyState } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { type Amount, costOf, metersOf, monthsUntil, tokens, tokensOf } from './amounts.js';
import { BudgetForm } from './budget-form.js';
import { type By, GROUPS, loadUsage, nameOf, nameOfMonth, resetOf, type Rows } from './report.js';

export function UsageScreen({ workspaceId }: { workspaceId: string }) {
  const months = monthsUntil(new Date(), 12);
  const [month, setMonth] = useState(months[0] ?? '');
  const [by, setBy] = useState<By>('agent');
  const loaded = useLoaded(`usage ${workspaceId} ${month} ${by}`, (client, signal) =>
    loadUsage(client, { workspaceId, month, by }, signal),
  );
  return (
    <Screen
      title="Usage"
      lead="What the agents of this workspace used, in tokens that models read and write, and what it cost."
      actions={
        <select
          className={ui('input', styles['month'])}
          aria-label="Month"
          value={month}
          onChange={(event) => setMonth(event.target.value)}
        >
          {months.map((each) => (
            <option key={each} value={each}>
              {nameOfMonth(each)}
            </option>
          ))}
        </select>
      }
    >
      <Show loaded={loaded} what="usage">
        {({ report, plan }) => (
          <>
            <Section title="Limits" lead={resetOf(report.budget.resets_at)}>
              {metersOf(report.budget, plan).map((meter) => (
                <MeterBar key={meter.label} meter={meter} />
              ))}
              <div>
                <DialogButton
                  dialog={(close) => (
                    <BudgetForm
                      workspaceId={workspaceId}
                      budget={report.budget}
                      onClose={close}
                      onSaved={loaded.reload}
                    />
                  )}
                >
                  {report.budget.state === 'none' ? 'Set a monthly budget' : 'Change the budget'}
                </DialogButton>
              </div>
            </Section>
            <Section title={nameOfMonth(month)} lead={<Total amount={report.total} currency={report.currency} />}>
              <Choice label="Group by" value={by} options={GROUPS} onChange={setBy} />
              {report.groups.length === 0 ? (
                <EmptyState icon="chart" title="Nothing was used in this month">
                  <p>Each answer of an agent appears here as soon as its model has answered.</p>
                </EmptyState>
              ) : (
                <Table by={by} groups={report.groups} total={report.total} currency={report.currency} />
              )}
            </Section>
          </>
        )}
      </Show>
    </Screen>
  );
}

function Total({ amount, currency }: { amount: Amount; currency: string }) {
  const cost = costOf(amount, currency);
  const { unpriced_tokens: unpriced } = amount;
  return (
    <>
      <strong>{tokens(tokensOf(amount))} tokens</strong>
      {cost !== undefined && <strong>, {cost.text}</strong>}
      {unpriced > 0 && `. ${tokens(unpriced)} tokens are of models without a price, which are not part of the cost.`}
    </>
  );
}

function Table({ by, groups, total, currency }: Rows) {
  const share = (amount: Amount): number => tokensOf(amount) / Math.max(1, tokensOf(total));
  const sorted = by === 'day' ? groups : groups.toSorted((a, b) => tokensOf(b.usage) - tokensOf(a.usage));
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label={`Usage by ${by}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{GROUPS.find(({ value }) => value === by)?.label}</th>
            <th scope="col">Read</th>
            <th scope="col">Written</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((group) => (
            <tr key={group.key}>
              <th scope="row">
                {nameOf(by, group)}
                <Bar length={share(group.usage)} />
              </th>
              <td>{tokens(group.usage.prompt_tokens)}</td>
              <td>{tokens(group.usage.completion_tokens)}</td>
              <td>{costOf(group.usage, currency)?.text ?? 'no price'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
