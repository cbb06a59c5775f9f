import type { ChangeEvent } from 'react';
import { Field, TextField } from '../ui/field.js';
import type { Description } from './use-description.js';

interface Props {
  /** Of an agent; none for a new one. */
  shown?: Description;
  onEdit?: (change: Partial<Description>) => void;
}
export function AgentFields({ shown, onEdit }: Props) {
  const onChange = ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>): void =>
    onEdit?.({ [target.name]: target.value });
  const field = (name: keyof Description) => ({ name, onChange, value: shown?.[name] });
  return (
    <>
      <Field label="Name" required maxLength={60} placeholder="Tax adviser" {...field('name')} />
      <Field label="Role" maxLength={100} placeholder="Lawyer" {...field('role')} />
      <TextField label="Description" maxLength={500} placeholder="Knows tax law" {...field('description')} />
    </>
  );
}
