package runtime

import "slices"

// LastOperation returns the newest operation of the runtime, of any kind and in any state, with its Type set. It returns the zero
// value when there is none.
//
// The newest is the one that was created last; of two that were created at the same time, the one that was updated last. Brokers list a
// suspension under deprovisioning too, with the same operation ID: it is returned as the suspension that it is.
func (rt RuntimeDTO) LastOperation() Operation {
	var latest latest
	latest.add(Provision, rt.Status.Provisioning)
	for _, list := range []struct {
		kind OperationType
		data *OperationsData
	}{
		{UpgradeKyma, rt.Status.UpgradingKyma},
		{UpgradeCluster, rt.Status.UpgradingCluster},
		{Update, rt.Status.Update},
		{Suspension, rt.Status.Suspension},
		{Unsuspension, rt.Status.Unsuspension},
	} {
		latest.add(list.kind, newestOf(list.data))
	}
	if !rt.Status.showsSuspensionTwice() {
		latest.add(Deprovision, rt.Status.Deprovisioning)
	}
	return latest.operation()
}

// showsSuspensionTwice says whether what is listed as deprovisioning is one of the suspensions.
func (s *RuntimeStatus) showsSuspensionTwice() bool {
	if s.Deprovisioning == nil || s.Suspension == nil || s.Deprovisioning.OperationID == "" {
		return false
	}
	return slices.ContainsFunc(s.Suspension.Data, func(op Operation) bool {
		return op.OperationID == s.Deprovisioning.OperationID
	})
}

// latest keeps the newest of the operations that are added in the order of a runtime's life: of equals the later one is kept.
type latest struct {
	kind OperationType
	op   *Operation
}

func (l *latest) add(kind OperationType, op *Operation) {
	if op != nil && (l.op == nil || !newer(l.op, op)) {
		l.kind, l.op = kind, op
	}
}

func (l *latest) operation() Operation {
	if l.op == nil {
		return Operation{}
	}
	op := *l.op
	op.Type = l.kind
	return op
}

// newestOf does not rely on the order of the list, but of equals the first is taken: lists are meant to have the newest first.
func newestOf(list *OperationsData) *Operation {
	if list == nil {
		return nil
	}
	var newest *Operation
	for i := range list.Data {
		if newest == nil || newer(&list.Data[i], newest) {
			newest = &list.Data[i]
		}
	}
	return newest
}

func newer(a, b *Operation) bool {
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.After(b.CreatedAt)
	}
	return a.UpdatedAt.After(b.UpdatedAt)
}
