import type { SecondFactorRule } from '#shared/people/members/required-second-factor.ts';
import { mayAct } from '#shared/people/roles.ts';
import { Card } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { useMember } from '../../http/access.ts';

/** Whether the organization requires a second factor; admins can change it. */
export function SecondFactorRuleCard({ rule }: { rule: SecondFactorRule }) {
  const { organization, role } = useMember();
  const { name } = organization;
  const { isRequired, membersWithout } = rule;
  const without = membersWithout === 0 ? 'All members have one.' : `Members without one: ${membersWithout}.`;
  return (
    <Card id="second-factor-rule" title="Second factor">
      <p>
        {isRequired ? `${name} requires a second factor.` : `${name} doesn't require a second factor.`}{' '}
        {without}
      </p>
      {mayAct(role, 'admin') ? (
        <div>
          <Confirm
            id="change-second-factor-rule"
            action={isRequired ? 'Stop requiring' : 'Require a second factor'}
            title={isRequired ? 'Stop requiring a second factor?' : 'Require a second factor?'}
            kind={isRequired ? 'danger' : 'primary'}
            to="/settings/members/second-factor"
          >
            <p>
              {isRequired
                ? 'Members can then open all pages with their password alone.'
                : 'Members without one must set it up before they can open any page of this organization.'}
            </p>
            <input type="hidden" name="required" value={isRequired ? 'no' : 'yes'} />
          </Confirm>
        </div>
      ) : null}
    </Card>
  );
}
