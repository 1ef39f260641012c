import type { Role } from '../../../../shared/platform/database.ts';

/** The roles that somebody may give, to be chosen from. */
export function RoleOptions({ roles, selected }: { roles: readonly Role[]; selected: Role }) {
  return (
    <>
      {roles.map((role) => (
        <option key={role} value={role} selected={role === selected}>
          {role}
        </option>
      ))}
    </>
  );
}
