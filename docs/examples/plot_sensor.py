"""Plots a sensor of a running gateway: python plot_sensor.py rover.gps [SECONDS]"""

import sys

from hilgw.client import Gateway
from hilgw.errors import HilgwError

if len(sys.argv) < 2:
    sys.exit(__doc__)
try:
    from matplotlib import pyplot
except ModuleNotFoundError:
    sys.exit("matplotlib is not installed; pip install matplotlib")

device = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
try:
    values = Gateway.find().values(device, seconds=seconds)
except HilgwError as error:
    sys.exit(str(error))
if not values.times:
    sys.exit(f"no value of {device} in {seconds:g} s")
pyplot.plot(values.times, values.values)
pyplot.xlabel("time (s)")
pyplot.ylabel(f"{device} ({', '.join(unit for unit in dict.fromkeys(values.units) if unit)})")
pyplot.show()
